"""The report page and its pictures."""
