"""How near a made table comes to the private records, in the values that tables hold.

All of it is computed from private records without noise, and is itself private.
"""
