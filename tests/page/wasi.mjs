// Runs a WASI program: node wasi.mjs FILE.wasm [ARGUMENT...]; it sees the current folder.
import { WASI } from 'node:wasi';
import fs from 'node:fs';

const [file, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: [file, ...args], preopens: { '.': '.' }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(fs.readFileSync(file), { wasi_snapshot_preview1: wasi.wasiImport });
process.exitCode = wasi.start(instance);
