"""The methods, a folder each: `dp_kip`, `teacher`, `dp_ntk`."""
