"""The deployment's own pages, declared as any plugin's are: the Inbox, plugins, connected clients, one's password, and access.

`pages` is served as the instance `dashboard` through the same gateway as every other; everyone who is signed in holds read and
write on it, a deployment admin admin. What its views meet as `request.plugin` is the `Desk`.
"""

from meridian.deployment.dashboard import prepared, plugins, clients, password, acts  # isort: skip  the order of the tabs
from meridian.deployment.dashboard import access, people, groups, accounts  # isort: skip
from meridian.deployment.dashboard.desk import Desk, pages

__all__ = ["Desk", "access", "accounts", "acts", "clients", "groups", "pages", "password", "people", "plugins", "prepared"]
