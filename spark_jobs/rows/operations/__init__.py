"""One function for each kind of operation, found by the kind's word."""
