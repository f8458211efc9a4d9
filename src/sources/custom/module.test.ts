import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { test } from 'node:test';
import { openModule } from './module.ts';

test('a module that cannot be loaded is told by its own file and line, never by ours', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-module-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const at = (name: string): string => path.join(folder, name);
  const files = {
    'open.mjs': 'export const table = {\n  columns: [\n',
    'wrong.ts': '\nexport const table: = 3;\n',
    'enum.ts': 'export const a = 1;\nenum B { C }\n',
    'import.mjs': "import './absent.mjs';\n",
    'package.mjs': "import 'a-package-that-is-not-there';\n",
    'below.mjs': "import './open.mjs';\n",
    'export.mjs': "import { b } from './fine.mjs';\nexport const c = b;\n",
    'fine.mjs': 'export const a = 1;\n',
    'throws.mjs': '\n\nexport const table = absent.columns;\n',
  };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(at(name), text);
  const messageOf = async (name: string): Promise<string> => {
    const source = { name: 'mine', module: at(name), format: 'json', timeout: 20 } as const;
    const around = { devices: () => [], begun: undefined, note: () => {} };
    const error = await openModule(source, around).then(
      () => assert.fail(`${name} was opened`),
      (error: Error) => error,
    );
    assert.equal(error.name, 'CustomFailure');
    assert.doesNotMatch(error.message, /custom-module|node:internal|file:\/\//);
    return error.message.replaceAll(`${folder}/`, '');
  };
  assert.equal(await messageOf('open.mjs'), 'open.mjs:3: Unexpected end of input');
  assert.match(await messageOf('wrong.ts'), /^wrong\.ts:2: Unexpected token `=`/);
  assert.match(await messageOf('enum.ts'), /^enum\.ts:2: TypeScript enum is not supported/);
  assert.equal(await messageOf('import.mjs'), 'import.mjs imports absent.mjs, which is not there');
  assert.equal(
    await messageOf('package.mjs'),
    'package.mjs imports the package a-package-that-is-not-there, which is not installed',
  );
  assert.equal(await messageOf('below.mjs'), 'below.mjs, or a file that it imports: Unexpected end of input');
  assert.match(await messageOf('export.mjs'), /^export\.mjs:1: The requested module/);
  assert.equal(await messageOf('throws.mjs'), 'throws.mjs:3: absent is not defined');
  assert.equal(await messageOf('gone.mjs'), 'there is no file gone.mjs');
});
