// Starts the bundled program of a release or a checkout, which is one function. V8's compiled code lies beside it, so that
// little has to be compiled at the start; where it does not fit (another Node), the program is compiled as usual.
const fs = require('node:fs');
const path = require('node:path');
const isCheckout = fs.existsSync(path.join(__dirname, 'sources'));
// an agent is small from the beginning: what Node's own start needed of its file goes first (src/agent/loop/give-back.ts)
if (process.argv[2] === 'agent') dropProgram();
const vm = require('node:vm');

// for what runs inside jobs, two at a time, or is quick, parts of the program are enough (scripts/bundle.ts); once `stop` has
// ended the agents, it loads another one (src/cli/stop-whole.ts)
const PARTS = {
  run: 'run',
  report: 'report',
  start: 'job',
  mark: 'job',
  fom: 'job',
  agent: 'agent',
  '--isolated-sources': 'agent',
  stop: 'stop',
  export: 'export',
  import: 'import',
  submit: 'submit',
  db: 'submit',
  serve: 'serve',
  mcp: 'serve',
  plot: 'serve',
  jobs: 'history',
  history: 'history',
  waste: 'history',
  hogs: 'history',
  load: 'history',
  uptime: 'history',
  sql: 'history',
};
// a second thread is of the part that has begun it (src/cli/thread.ts)
const verb = process.argv[2] === '--thread' && process.argv[3] !== 'list' ? 'report' : process.argv[2];
// in a checkout, whose bundles change, each verb keeps what it needed
const ofVerb = isCheckout ? `.${verb?.replaceAll(/[^a-z-]/g, '')}` : '';
const isAsked = process.env.TACHO_WRITE_COMPILED !== undefined;
delete process.env.TACHO_WRITE_COMPILED;
/** What is compiled now, and kept when this process ends. */
const unwritten = [];
part(PARTS[verb] ?? 'tacho');

/** Runs a part of the program; returns what it exports. */
function part(name) {
  const filename = path.join(__dirname, `${name}.cjs`);
  const text = fs.readFileSync(filename, 'latin1');
  // V8 compares the length alone: compiled code ends with the hash that its bundle ends with (scripts/bundle.ts)
  const hash = text.slice(-16);
  const compiled = path.join(__dirname, `${name}${ofVerb}.compiled`);
  const script = new vm.Script(text, {
    filename,
    cachedData: compiledCode(compiled, hash),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  // scripts/release.ts asks for the compiled code after a run, when V8 knows which functions are needed
  const isLacking =
    isCheckout && script.cachedDataRejected !== false && fs.statSync(__dirname).uid === process.geteuid();
  if (isAsked || isLacking) keepCompiled({ script, compiled, hash });
  const own = { exports: {}, part };
  script.runInThisContext()(own.exports, require, own, filename, __dirname);
  return own.exports;
}

function dropProgram() {
  const home = path.join(__dirname, isCheckout ? '../..' : '..');
  try {
    const made = { exports: {} };
    process.dlopen(made, path.join(home, 'native/build/sampling.node'));
    made.exports.dropProgram();
  } catch {
    // there was no C compiler: it is only a saving
  }
}

function compiledCode(compiled, hash) {
  try {
    const code = fs.readFileSync(compiled);
    return code.toString('latin1', code.length - hash.length) === hash ? code : undefined;
  } catch {
    return undefined;
  }
}

function keepCompiled(one) {
  unwritten.push(one);
  if (unwritten.length > 1) return;
  // functions that runs before needed, and this one does not, are kept, and those that only its start needs
  require('node:v8').setFlagsFromString('--no-flush-bytecode');
  // a verb that does not exist has nothing to keep
  process.on('exit', (code) => code === 0 && write());
  // what lives longer soon has other options, and forgets what only its start needed
  if (!isAsked) setTimeout(write, 3000).unref();
}

function write() {
  if (unwritten.length === 0) return;
  const v8 = require('node:v8');
  // the code belongs to the usual options
  for (const usual of ['--flush-bytecode', '--turbofan', '--maglev', '--incremental-marking'])
    v8.setFlagsFromString(usual);
  for (const { script, compiled, hash } of unwritten.splice(0)) {
    const own = `${compiled}.${process.pid}-${Date.now()}`;
    try {
      fs.writeFileSync(own, Buffer.concat([script.createCachedData(), Buffer.from(hash, 'latin1')]));
      fs.renameSync(own, compiled);
    } catch (error) {
      if (isAsked) throw error;
      // it is only a saving
      fs.rmSync(own, { force: true });
    }
  }
}
