import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import * as v8 from 'node:v8';
import * as vm from 'node:vm';
import koffi from 'koffi';

/**
 * Reads the bundles of a release once and forks for every start that forked.c is asked for: that saves the start of Node
 * and the compiling, which is most of what a short verb takes. What runs in the fork is the release's own lib/start.cjs.
 */

/** Of every verb that may be forked (test/tacho.ts): one that is not read here is compiled by each fork, for 60 ms. */
const BUNDLES = ['tacho', 'report', 'export', 'history', 'submit', 'import', 'duckdb'];

const [socket, start] = process.argv.slice(2) as [string, string];
const require = createRequire(start);
const { Script } = vm;
const library = koffi.load(process.env.LD_PRELOAD!);
const node = koffi.load(null);
const serve = library.func('int forked_serve(const char *path, _Out_ void **strings)');
const loop = node.func('void *uv_default_loop()')();
const afterFork = node.func('int uv_loop_fork(void *loop)');
const getpid = node.func('int getpid()');
const leave = node.func('void _exit(int code)');

// compiled whole, as no compiled code of the release fits a Node with one thread
v8.setFlagsFromString('--no-lazy');
const scripts = new Map(
  BUNDLES.map((name) => {
    const filename = path.join(path.dirname(start), `${name}.cjs`);
    const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
    return [filename, new Script(fs.readFileSync(filename, 'latin1'), { filename, importModuleDynamically })];
  }),
);
v8.setFlagsFromString('--lazy');

const strings: [unknown] = [null];
const count = serve(socket, strings);
if (count < 0) throw new Error(`cannot listen at ${socket}`);
const [folder, ...args] = stringsAt(strings[0], count + 1);
afterFork(loop);
// what Node has kept of the process that it was
Object.defineProperty(process, 'pid', { value: getpid() });
process.chdir(folder!);
const { TZ } = process.env;
if (TZ === undefined) delete process.env.TZ;
else process.env.TZ = TZ;
process.argv = [process.argv[0]!, start, ...args];
process.execArgv = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', '--min-semi-space-size=16'];
// Node's end would wait for threads that did not come along
const emit = process.emit;
process.emit = ((name: string, ...rest: unknown[]): boolean => {
  const heard = Reflect.apply(emit, process, [name, ...rest]);
  if (name === 'exit') leave(Number(process.exitCode ?? 0));
  return heard;
}) as typeof process.emit;
Reflect.set(
  require('node:vm'),
  'Script',
  function read(text: string, options: vm.ScriptOptions & { filename: string }) {
    return scripts.get(options.filename) ?? new Script(text, options);
  },
);
require(start);

function stringsAt(address: unknown, many: number): string[] {
  const texts: string[] = [];
  for (let at = 0; texts.length < many; ) {
    const text = koffi.decode(address, at, 'char', -1) as string;
    texts.push(text);
    at += Buffer.byteLength(text) + 1;
  }
  return texts;
}
