import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import type { TestContext } from 'node:test';

export type FakeName = 'nvml' | 'amdsmi' | 'rocm_smi';

const VARIABLE: Record<FakeName, string> = { nvml: 'TACHO_NVML', amdsmi: 'TACHO_AMD_SMI', rocm_smi: 'TACHO_ROCM_SMI' };

/** Is there a C compiler to build the stand-ins with? */
export function hasCompiler(): boolean {
  try {
    execFileSync('cc', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Builds a stand-in for a vendor's library, has it behave as `script` says (see fake.h), and points the environment at
 * it until the test ends. Every library is a file of its own, so each test starts with cards that were never read.
 */
export function fakeGpu(t: TestContext, name: FakeName, script: string): void {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-fake-gpu-'));
  const library = path.join(folder, `lib${name}.so`);
  const source = path.join(import.meta.dirname, `fake_${name}.c`);
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-w', '-o', library, source], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const settings = path.join(folder, 'cards');
  fs.writeFileSync(settings, script);
  const own = `FAKE_GPU_${name.toUpperCase()}`;
  const before = { ...process.env };
  process.env[VARIABLE[name]] = library;
  process.env[own] = settings;
  t.after(() => {
    for (const key of [VARIABLE[name], own]) {
      if (before[key] === undefined) delete process.env[key];
      else process.env[key] = before[key];
    }
    fs.rmSync(folder, { recursive: true, force: true });
  });
}
