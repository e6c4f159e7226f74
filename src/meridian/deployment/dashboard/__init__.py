"""The deployment's own pages, declared as any plugin's are: plugins, connected clients, one's password, and access.

`pages` is served as the instance `dashboard` through the same gateway as every other; everyone who is signed in holds read and
write on it, a deployment admin admin. What its views meet as `request.plugin` is the `Desk`.
"""

from meridian.deployment.dashboard import access, accounts, clients, groups, password, people, plugins
from meridian.deployment.dashboard.desk import Desk, pages

__all__ = ["Desk", "access", "accounts", "clients", "groups", "pages", "password", "people", "plugins"]
