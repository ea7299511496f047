"""Runs a WASI program by wasmtime: by_wasmtime.py FILE.wasm [ARGUMENT...]; it sees the current folder."""

import sys

import wasmtime

settings = wasmtime.Config()
settings.wasm_relaxed_simd = True
store = wasmtime.Store(wasmtime.Engine(settings))
wasi = wasmtime.WasiConfig()
wasi.argv = sys.argv[1:]
wasi.preopen_dir(".", ".")
wasi.inherit_stdout()
wasi.inherit_stderr()
store.set_wasi(wasi)
linker = wasmtime.Linker(store.engine)
linker.define_wasi()
try:
    linker.instantiate(store, wasmtime.Module.from_file(store.engine, sys.argv[1])).exports(store)["_start"](store)
except wasmtime.ExitTrap as end:
    sys.exit(end.code)
