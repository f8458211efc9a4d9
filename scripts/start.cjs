// Starts the bundled program of a release, which is one function. V8's compiled code lies beside it, so that little has to
// be compiled at the start; where it does not fit (another Node), the program is compiled as usual.
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

// these run inside jobs, two at a time: a part of the program is enough for them (scripts/bundle.ts)
const isPart = ['start', 'mark', 'fom', 'agent', '--isolated-sources'].includes(process.argv[2]);
const name = isPart ? 'job' : 'tacho';
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
  process.on('exit', () => {
    for (const usual of ['--flush-bytecode', '--turbofan']) v8.setFlagsFromString(usual);
    fs.writeFileSync(compiled, script.createCachedData());
  });
}
script.runInThisContext()(exports, require, module, filename, __dirname);
