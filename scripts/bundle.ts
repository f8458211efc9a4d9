import * as fs from 'node:fs';
import * as path from 'node:path';
import { build, type Plugin } from 'esbuild';

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
    bundler.onLoad({ filter: /\/src\/.*\.ts$/ }, (file) => {
      const text = fs.readFileSync(file.path, 'utf8');
      return text.includes(REQUIRE) ? { contents: text.replaceAll(REQUIRE, 'require('), loader: 'ts' } : undefined;
    });
  },
};

const HEAD = `(function (exports, require, module, __filename, __dirname) {
const tachoUrl = require("node:url").pathToFileURL(__dirname + "/start.cjs").href;`;

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
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    define: { 'import.meta.url': 'ownUrl' },
    banner: { js: 'const ownUrl = require("node:url").pathToFileURL(__filename).href;' },
    plugins: [wasmInside],
    logLevel: 'warning',
  });
}

/** Bundles the program into one function in one file (plain ASCII); what it imports lazily stays lazy inside it. */
export async function bundle(outfile: string, version: string): Promise<void> {
  await bundleKafka(path.join(path.dirname(outfile), 'kafka.cjs'));
  await build({
    entryPoints: [path.join(HERE, 'src/cli/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    define: { TACHO_VERSION: JSON.stringify(version), 'import.meta.url': 'tachoUrl' },
    charset: 'ascii',
    banner: { js: HEAD },
    footer: { js: '})' },
    plugins: [nativeModules],
    logLevel: 'warning',
  });
}
