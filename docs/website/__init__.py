"""The site: what MkDocs builds beside the pages in docs/ (`make docs`).

Pages that would repeat what stands elsewhere are made when the site is built: one for each
environment (`environments`), the rules (`rules`), the interface (`interface`), and the sources that
pages link to (`links`). `hooks` hands them to MkDocs.
"""
