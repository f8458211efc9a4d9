// Starts the bundled program of a release, which is one function. V8's compiled code lies beside it, so that little has to
// be compiled at the start; where it does not fit (another Node), the program is compiled as usual.
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

// for what runs inside jobs, two at a time, or is quick, parts of the program are enough (scripts/bundle.ts); once `stop` has
// ended the agents, it goes on as the whole program (src/cli/stop-whole.ts)
const PARTS = {
  start: 'job',
  mark: 'job',
  fom: 'job',
  agent: 'agent',
  '--isolated-sources': 'agent',
  stop: 'stop',
  export: 'export',
  '--version': 'stop',
};
const name = (!process.env.TACHO_STOPPED && PARTS[process.argv[2]]) || 'tacho';
const filename = path.join(__dirname, `${name}.cjs`);
const compiled = path.join(__dirname, `${name}.compiled`);
const script = new vm.Script(fs.readFileSync(filename, 'latin1'), {
  filename,
  cachedData: fs.existsSync(compiled) ? fs.readFileSync(compiled) : undefined,
  importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
// scripts/release.ts asks for the compiled code after a run, when V8 knows which functions are needed
if (process.env.TACHO_WRITE_COMPILED) {
  delete process.env.TACHO_WRITE_COMPILED;
  const v8 = require('node:v8');
  // functions that runs before needed, and this one does not, are kept; the code belongs to the usual options
  v8.setFlagsFromString('--no-flush-bytecode');
  const write = () => {
    for (const usual of ['--flush-bytecode', '--turbofan']) v8.setFlagsFromString(usual);
    fs.writeFileSync(compiled, script.createCachedData());
  };
  const { execve } = process;
  process.execve = (...program) => {
    write();
    execve(...program);
  };
  process.on('exit', write);
}
script.runInThisContext()(exports, require, module, filename, __dirname);
