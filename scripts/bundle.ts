import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { ownCode } from '../src/base/own-code.ts';

const HERE = path.join(import.meta.dirname, '..');

/** koffi looks for its native module where npm put it; in a release that lies beside the bundle. */
const KOFFI_LOADS = 'loadDynamic2(__dirname, pkg, triplets)';
const KOFFI = path.join(HERE, 'node_modules/koffi/src/koffi/indirect.cjs');
/** ES modules have no `require`; in the bundle, which is CommonJS, it takes the module along. */
const REQUIRE = 'createRequire(import.meta.url)(';

const nativeModules: Plugin = {
  name: 'native modules',
  setup(bundler) {
    bundler.onResolve({ filter: /^koffi$/ }, () => ({ path: KOFFI }));
    bundler.onLoad({ filter: /koffi\/indirect\.cjs$/ }, () => {
      const text = fs.readFileSync(KOFFI, 'utf8');
      if (!text.includes(KOFFI_LOADS)) throw new Error('koffi loads its native module in a way that is not known');
      return { contents: text.replace(KOFFI_LOADS, "require(__dirname + '/koffi.node')"), loader: 'js' };
    });
    // few need it, and it is a third of everything: it lies beside the bundle
    bundler.onResolve({ filter: /^@platformatic\/kafka$/ }, () => ({ path: './kafka.cjs', external: true }));
    // only who asks the history needs it: the bundle of its JavaScript and its library lie beside the program
    bundler.onResolve({ filter: /^@duckdb\/node-api$/ }, () => ({ path: DUCKDB, namespace: 'another part' }));
    // a recording is not drawn when a command ends: charts are 40 % of what `run` and `report` would load otherwise
    if (isWhole()) bundler.onResolve({ filter: /^echarts\// }, () => ({ path: ECHARTS, namespace: 'another part' }));
    bundler.onLoad({ filter: /.*/, namespace: 'another part' }, ({ path: name }) => ({
      contents: `module.exports = tachoPart('${name}');`,
    }));
    // commander starts verbs that are programs of their own with it, of which there are none; it is a tenth of a start
    bundler.onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes('/commander/') ? { path: 'nothing', namespace: 'nothing' } : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({ contents: 'export default {};' }));
    bundler.onLoad({ filter: /\/src\/.*\.ts$/ }, (file) => {
      const text = fs.readFileSync(file.path, 'utf8');
      return text.includes(REQUIRE) ? { contents: text.replaceAll(REQUIRE, 'require('), loader: 'ts' } : undefined;
    });
  },
};

const SHARED = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
} as const;

const HEAD = `(function (exports, require, module, __filename, __dirname) {
const tachoUrl = require("node:url").pathToFileURL(__dirname + "/start.cjs").href;
const tachoLate = (name, own) => ({ get own() { return own ??= require(name); } });
const tachoSteady = () => { const [seconds, ns] = process.hrtime(); return seconds * 1e3 + ns / 1e6; };
const tachoPart = module.part;
const tachoBegan = tachoSteady() - process.uptime() * 1e3;
const tachoNow = () => tachoSteady() - tachoBegan;`;

/** Modules that Node itself has loaded when it begins; the others are loaded by whoever needs them first. */
const LOADED = ['buffer', 'events', 'fs', 'module', 'path', 'process', 'url', 'util'];

/** What src/ uses of the client of Kafka (`test/release.test.ts` sees to it that nothing is missing). */
const KAFKA = `export {
  Admin, Consumer, FetchIsolationLevels, Producer, compatibilityPartitioner, stringDeserializers, stringSerializers,
} from '@platformatic/kafka';`;

/** The client of Kafka reads its WebAssembly from a file; this form of it has it inside. */
const wasmInside: Plugin = {
  name: 'WebAssembly inside',
  setup(bundler) {
    const file = path.join(HERE, 'node_modules/@platformatic/wasm-utils/dist/bundled.js');
    bundler.onResolve({ filter: /^@platformatic\/wasm-utils$/ }, () => ({ path: file }));
  },
};

async function bundleKafka(outfile: string): Promise<void> {
  await build({
    stdin: { contents: KAFKA, resolveDir: HERE },
    outfile,
    ...SHARED,
    define: { 'import.meta.url': 'ownUrl' },
    banner: { js: 'const ownUrl = require("node:url").pathToFileURL(__filename).href;' },
    plugins: [wasmInside],
  });
}

/** What src/charts imports of ECharts, and nothing else of it. */
function ofECharts(): string {
  const files = fs.globSync(path.join(HERE, 'src/charts/**/*.ts')).filter((file) => !file.endsWith('.test.ts'));
  const texts = files.map((file) => fs.readFileSync(file, 'utf8')).join('');
  const names = new Map<string, string>();
  for (const [, list, module] of texts.matchAll(/^import \{([^}]+)\} from '(echarts\/\w+)';/gm))
    for (const name of list!.split(',').map((each) => each.trim())) if (name !== '') names.set(name, module!);
  return [...names].map(([name, module]) => `export { ${name} } from '${module}';`).join('\n');
}

async function bundleECharts(outfile: string): Promise<void> {
  await build({
    stdin: { contents: ofECharts(), resolveDir: HERE },
    outfile,
    ...SHARED,
    charset: 'ascii',
    banner: { js: HEAD },
    footer: { js: '})' },
  });
  sign(outfile);
}

/** DuckDB looks for its library where npm put it; in a release that lies beside the bundle. `library`: the way there. */
async function bundleDuckDb(outfile: string, library: string): Promise<void> {
  const beside: Plugin = {
    name: 'library of DuckDB',
    setup(bundler) {
      bundler.onResolve({ filter: /^@duckdb\/node-bindings$/ }, () => ({
        path: `${library}/duckdb.node`,
        external: true,
      }));
    },
  };
  await build({
    stdin: { contents: "export { DuckDBInstance } from '@duckdb/node-api';", resolveDir: HERE },
    outfile,
    ...SHARED,
    charset: 'ascii',
    banner: { js: HEAD },
    footer: { js: '})' },
    plugins: [beside],
  });
  sign(outfile);
}

/** start.cjs reads the bundle as one byte a character, which is quick: regular expressions beyond ASCII would not match. */
export function refuseBeyondAscii(file: string): void {
  const text = fs.readFileSync(file, 'latin1');
  const odd = /[^\0-\x7f]/.exec(text);
  if (odd === null) return;
  const around = Buffer.from(text.slice(Math.max(0, odd.index - 60), odd.index + 20), 'latin1').toString();
  throw new Error(`${path.basename(file)} is not ASCII: write \\u escapes in the regular expression near ${around}`);
}

/** Parts of the program for verbs that run inside a job beside another process of Tacho's, or are quick (see start.cjs). */
export const PARTS: Readonly<Record<string, readonly string[]>> = {
  run: ['run'],
  report: ['report'],
  job: ['start', 'mark', 'fom'],
  agent: ['agent'],
  stop: ['stop'],
  export: ['export'],
  import: ['import'],
  submit: ['submit', 'db'],
  serve: ['serve', 'mcp', 'plot'],
  history: ['jobs', 'history', 'waste', 'hogs', 'load', 'uptime', 'sql'],
};

/** Whether everything is installed: a checkout that only records has no need of what pages, assistants and the history are made of. */
const isWhole = (): boolean => fs.existsSync(path.join(HERE, 'node_modules/fastify'));

/** ECharts, which whoever draws loads. */
export const ECHARTS = 'echarts';

/** The JavaScript of DuckDB, which whoever asks the history loads. */
export const DUCKDB = 'duckdb';

/** What `stop` loads when no agent runs any more (src/cli/stop-whole.ts): it seals and judges. */
export const FINISH = 'finish';

/** Modules of src/cli that differ between the whole program and its parts, because what they import does. */
const DIFFERENT = ['main', 'program', 'verbs', 'stop', 'serve', 'mcp', 'plot'];

const cli = (name: string): string => path.join(HERE, 'src/cli', `${name}.ts`);

/** `part:job` and the others are main.ts with what this part needs; the modules that they share are read once for all. */
const partsPlugin: Plugin = {
  name: 'parts of the program',
  setup(bundler) {
    bundler.onResolve({ filter: /^part:/ }, ({ path: namespace }) => ({ path: cli('main'), namespace }));
    bundler.onLoad({ filter: /.*/, namespace: 'elsewhere' }, () => ({
      contents: 'throw new Error("this part of the program does not have it");',
    }));
    // servers of pages and assistants are larger than all the rest: only their own part has them
    bundler.onResolve({ filter: /\/(serve|mcp|plot)\/start\.ts$/, namespace: 'file' }, ({ importer }) =>
      ['serve', 'mcp', 'plot'].some((verb) => importer === cli(verb))
        ? { path: 'elsewhere', namespace: 'elsewhere' }
        : undefined,
    );
    for (const [name, verbs] of Object.entries(PARTS)) {
      const namespace = `part:${name}`;
      bundler.onLoad({ filter: /.*/, namespace }, ({ path: file }) => ({
        contents: fs.readFileSync(file, 'utf8'),
        loader: 'ts',
        resolveDir: path.dirname(file),
      }));
      bundler.onResolve({ filter: /^\./, namespace }, ({ path: wanted, importer, kind }) => {
        const file = path.resolve(path.dirname(importer), wanted);
        const isOtherVerb =
          importer === cli('verbs') && kind === 'dynamic-import' && !verbs.includes(path.basename(file, '.ts'));
        // main.ts also begins what does one thing for a verb: an agent has the process that reads isolated sources, a report
        // its second thread
        const isOther = /[/-]worker\.ts$|\/thread\.ts$/.test(file);
        const isReader = verbs.includes('agent') && file.endsWith('/isolated/worker.ts');
        const isThread = verbs.includes('report') && file === cli('thread');
        if (isOtherVerb || (isOther && !isReader && !isThread)) return { path: 'elsewhere', namespace: 'elsewhere' };
        if (file === cli('stop-finish')) return { path: cli('stop-whole') };
        return DIFFERENT.some((each) => file === cli(each)) ? { path: file, namespace } : { path: file };
      });
    }
  },
};

export interface BundleOptions {
  /** Where the files are written. */
  folder: string;
  version: string;
  /** The way from there to the folder that Tacho is installed in. */
  home: string;
  /** The way from there to the library of DuckDB. */
  duckdb: string;
}

/**
 * Bundles the program into one function in one file (plain ASCII); what it imports lazily stays lazy inside it. Beside it
 * lie parts of it that run inside jobs, where what is loaded takes its place in the job's memory, or are quick; and
 * start.cjs, which starts them.
 */
export async function bundle({ folder, version, home, duckdb }: BundleOptions): Promise<void> {
  const at = (name: string): string => path.join(folder, name);
  const names = Object.keys(PARTS).filter((name) => isWhole() || name !== 'serve');
  const [{ metafile }] = await Promise.all([
    build({
      entryPoints: {
        tacho: cli('main'),
        [FINISH]: cli('stop-finish'),
        ...Object.fromEntries(names.map((name) => [name, `part:${name}`])),
      },
      outdir: folder,
      outExtension: { '.js': '.cjs' },
      ...SHARED,
      define: {
        TACHO_VERSION: JSON.stringify(version),
        TACHO_CODE: JSON.stringify(ownCode()),
        TACHO_HOME: JSON.stringify(home),
        'import.meta.url': 'tachoUrl',
        // the object that has it is made when it is first used, of 20 modules: 2 ms of a start
        'performance.now': 'tachoNow',
      },
      charset: 'ascii',
      // charts of a PDF: start-checkout installs it for them, and then there is another bundle
      external: isWhole() ? [] : ['echarts/*'],
      banner: { js: HEAD },
      footer: { js: '})' },
      plugins: [partsPlugin, nativeModules],
      absWorkingDir: HERE,
      metafile: true,
    }),
    bundleKafka(at('kafka.cjs')),
    ...(isWhole() ? [bundleECharts(at(`${ECHARTS}.cjs`)), bundleDuckDb(at(`${DUCKDB}.cjs`), duckdb)] : []),
  ]);
  for (const [file, { inputs }] of Object.entries(metafile.outputs)) {
    const name = path.basename(file, '.cjs');
    const judges = Object.keys(inputs).find((input) => input.startsWith('src/judge/'));
    if (
      !['tacho', FINISH, 'serve', 'run', 'report', 'import', 'submit', 'history'].includes(name) &&
      judges !== undefined
    )
      throw new Error(`scripts/bundle.ts: ${name}.cjs has more than its verbs need: ${judges}`);
    nodesOwn(at(`${name}.cjs`));
    sign(at(`${name}.cjs`));
  }
  fs.copyFileSync(
    path.join(HERE, `node_modules/@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`),
    at('koffi.node'),
  );
  fs.copyFileSync(path.join(HERE, 'scripts/start.cjs'), at('start.cjs'));
  // `tacho --version` is answered by the launcher
  fs.writeFileSync(at('version'), `${version}\n`);
}

/** Where npm puts the library of DuckDB. */
export const DUCKDB_PACKAGE = `node_modules/@duckdb/node-bindings-linux-${process.arch}`;

const REQUIRED = /([\w$]+)=require\("node:([\w/]+)"\)/g;

/**
 * esbuild makes a copy of Node's modules for everyone who imports them, with a function for each name: 5 ms of a start.
 * Modules that Node has not loaded already are 15 ms more, and most runs need few of them.
 */
function nodesOwn(file: string): void {
  const text = fs.readFileSync(file, 'latin1');
  // the default export is the copy's alone
  const copied = new Set([...text.matchAll(/([\w$]+)\.default\b/g)].map(([, name]) => name!));
  const shared = text.replaceAll(
    /([\w$]+)=__toESM\((require\("node:[\w/]+"\)),1\)/g,
    (whole, name: string, own: string) => (copied.has(name) ? whole : `${name}=${own}`),
  );
  const late = new Set<string>();
  for (const [, name, module] of shared.matchAll(REQUIRED)) if (!LOADED.includes(module!)) late.add(name!);
  // who passes one on as a whole has it at once
  for (const [, name] of shared.matchAll(/(?<![\w$."'])([\w$]+)(?![\w$.=,;"'])/g)) late.delete(name!);
  const used = shared
    .replaceAll(REQUIRED, (whole, name: string, module: string) =>
      late.has(name) ? `${name}=tachoLate("node:${module}")` : whole,
    )
    .replaceAll(/(?<![\w$.])([\w$]+)\./g, (whole, name: string) => (late.has(name) ? `${name}.own.` : whole));
  fs.writeFileSync(file, used, 'latin1');
}

/** start.cjs tells by its end which compiled code is of this bundle. */
function sign(file: string): void {
  refuseBeyondAscii(file);
  const hash = createHash('sha256').update(fs.readFileSync(file)).digest('hex').slice(0, 16);
  fs.appendFileSync(file, `//${hash}`);
}
