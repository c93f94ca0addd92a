"""conf/mixer is the registry: names, settings and signatures agree."""

import inspect

from hydra.utils import get_class
from omegaconf import OmegaConf

from mingru.mixers.base import Mixer

PLAIN = {"int", "float", "bool", "str", "int | None", "float | None", "str | None", "Sequence[int] | None"}


def test_the_name_is_the_stem(build, stem):
    assert build(d_model=16).name == stem


def test_the_first_line_says_what_the_mixer_is_for(path):
    first = path.read_text().splitlines()[0]
    assert first.startswith("# ")
    assert len(first) > 40


def test_the_yaml_spells_every_setting_of_the_signature(path):
    config = OmegaConf.load(path)
    parameters = inspect.signature(get_class(config["_target_"])).parameters
    assert config["_partial_"] is True
    assert set(config) - {"_target_", "_partial_", "name"} == set(parameters) - {"d_model", "d_input", "name"}


def test_a_signature_has_plain_annotated_settings_and_nothing_open(path):
    mixer = get_class(OmegaConf.load(path)["_target_"])
    assert issubclass(mixer, Mixer)
    for name, parameter in inspect.signature(mixer).parameters.items():
        assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD, name
        assert parameter.annotation in PLAIN, name
        assert (parameter.default is inspect.Parameter.empty) == (name == "d_model"), name


def test_the_name_is_spelt_only_where_it_differs_from_the_module(path, stem):
    config = OmegaConf.load(path)
    assert ("name" in config) == (get_class(config["_target_"]).__module__.split(".")[-1] != stem)
