"""Two traces side by side: does one behave like the other?"""

from __future__ import annotations
