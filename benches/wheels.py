"""Compare a wheel for this Python with one for the stable ABI: `python -m benches.wheels`.

Builds both with maturin (a release build each), loads the two native modules into one process and
times them by turns.
"""

from __future__ import annotations

import copy
import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from types import ModuleType

from .states import STATES
from .timing import Call, race

_ROOT = Path(__file__).parents[1]


def main() -> None:
    """Build, measure, print a table."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = {"per version": _build(Path(folder, "own")), "stable ABI": _build(Path(folder, "abi3"), "abi3")}
        for name, wheel in wheels.items():
            with zipfile.ZipFile(wheel) as archive:
                module = archive.getinfo(_native_name(archive))
            sizes = f"module {module.file_size / 1024:.0f} KiB, compressed {module.compress_size / 1024:.0f} KiB"
            print(f"{name}: {wheel.name}: {sizes}")
        own, stable = (_load(wheel) for wheel in wheels.values())
    print(f"\n{'stable ABI / per version':<28}" + "".join(f"{state:>10}" for state in STATES))
    calls = {state: (_calls(own, state), _calls(stable, state)) for state in STATES}
    for what in calls["small"][0]:
        ratios = [race({"own": ours[what], "stable": theirs[what]})["stable"].ratio for ours, theirs in calls.values()]
        print(f"  {what:<26}" + "".join(f"{ratio:10.2f}" for ratio in ratios))


def _build(folder: Path, *features: str) -> Path:
    command = [sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--locked", "--out", str(folder)]
    command += ["--interpreter", sys.executable]
    if features:
        command += ["--features", ",".join(features)]
    subprocess.run(command, cwd=_ROOT, check=True)
    return next(folder.glob("*.whl"))


def _native_name(wheel: zipfile.ZipFile) -> str:
    """The module that was built for this wheel; one of an editable install may lie beside it."""
    names = [name for name in wheel.namelist() if "/_native." in name and name.endswith((".so", ".pyd"))]
    stable = [name for name in names if "abi3" in name or name.endswith("_native.pyd")]
    return (stable if "-abi3-" in str(wheel.filename) else names)[0]


def _load(wheel: Path) -> ModuleType:
    with zipfile.ZipFile(wheel) as archive:
        module = archive.extract(_native_name(archive), wheel.parent)
    loader = importlib.machinery.ExtensionFileLoader("_native", module)
    spec = importlib.util.spec_from_loader("_native", loader)
    assert spec
    native = importlib.util.module_from_spec(spec)
    loader.exec_module(native)
    return native


def _calls(native: ModuleType, name: str) -> dict[str, Call]:
    state = STATES[name]
    child = copy.deepcopy(state)
    return {
        "clone": lambda: native.clone(state),
        "validate": lambda: native.validate(state),
        "render, whole": lambda: native.render_block(state, None),
        "render, 800 tokens": lambda: native.render_block(state, 3200),
        "merge, shallow": lambda: native.merge(state, child),
        "merge, three_way": lambda: native.merge(state, child, mode="three_way", base=state),
    }


if __name__ == "__main__":
    main()
