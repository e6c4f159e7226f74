"""The steps by which a database comes to hold the tables, oldest first. One that was released is never edited."""
