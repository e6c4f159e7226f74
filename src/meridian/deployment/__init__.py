"""What runs plugins: people, access, delegations, the store, and the door. It needs `meridian-plugins[deployment]`."""
