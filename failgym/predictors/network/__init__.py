"""`TwoLevelNetwork` (Rosà et al., IWQoS 2015), and the grace periods that it gives."""
