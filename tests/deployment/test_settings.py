"""How a deployment runs, and the plugins it runs, as records."""

from datetime import timedelta

import pytest

from meridian.deployment import instances
from meridian.deployment.instances import Instance, configure
from meridian.deployment.settings import Settings, read_settings
from meridian.errors import DeploymentError


def test_settings_left_out_are_the_defaults():
    assert read_settings({}) == Settings()


def test_settings_are_read_as_any_record_is(tmp_path):
    settings = read_settings({"data": str(tmp_path), "port": "0", "session_idle_minutes": "5"})
    assert (settings.port, settings.session_idle, settings.session_lasts) == (0, timedelta(minutes=5), timedelta(hours=12))
    assert settings.database_url == f"sqlite:///{tmp_path}/meridian.db"
    assert settings.storage_url("operations") == f"sqlite:///{tmp_path}/plugins/operations.db"


@pytest.mark.parametrize("data", ["a?b", "?"])
def test_a_folder_that_a_database_s_url_would_cut_short_is_refused(data):
    with pytest.raises(DeploymentError, match="settings: data: "):
        read_settings({"data": data})


def test_every_setting_that_did_not_read_is_named():
    with pytest.raises(DeploymentError) as reason:
        read_settings({"port": "http", "call_seconds": "0", "colour": "blue"})
    assert str(reason.value).startswith("settings: colour is no setting; port: ")
    assert "call_seconds: " in str(reason.value)


def test_a_database_of_its_own_is_used_as_given():
    assert read_settings({"database": "postgresql+psycopg://x@db/m"}).database_url == "postgresql+psycopg://x@db/m"


def test_an_instance_is_configured_and_found_again(store, now):
    made = configure(store, "notes", target="notes:pages", title="Notes", roles=[], now=now)
    assert made == Instance("notes", "notes:pages", "Notes", ("",), {})
    instances.change_settings(store, "notes", {"colour": "blue"})
    again = configure(store, "notes", target="notes.two:pages", title="Notes", roles=["a", "b"], now=now)
    assert again == Instance("notes", "notes.two:pages", "Notes", ("a", "b"), {"colour": "blue"})
    assert (instances.find(store, "notes"), instances.find(store, "none")) == (again, None)
    assert instances.configured(store) == (again,)


@pytest.mark.parametrize("name", ["", "Notes", "1notes", "no_tes", "notes/x", "é", "n" * 41, "notes\n"])
def test_a_name_that_is_no_instances_is_refused_with_the_rule(store, now, name):
    with pytest.raises(DeploymentError, match="a name is small letters, digits and hyphens"):
        configure(store, name, target="x:pages", title="X", roles=[], now=now)


@pytest.mark.parametrize("name", sorted(instances.RESERVED_NAMES))
def test_the_deployments_own_names_are_kept_for_it(store, now, name):
    with pytest.raises(DeploymentError, match=f"instance {name}: that name is the deployment's own"):
        configure(store, name, target="x:pages", title="X", roles=[], now=now)
    assert configure(store, name, target="own", title="Own", roles=[], now=now, reserved=True).name == name
