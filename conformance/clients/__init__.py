"""The clients that are small programs of our own around a library; each prints what it saw as one line of JSON."""
