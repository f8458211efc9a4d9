/**
 * Python objects for a scheduler, as pickles of `eval(source text)`: they need no pickle library here, and are the same for all
 * versions of Python.
 */

function evalPickle(expression: string): Buffer {
  const text = Buffer.from(expression, 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([Buffer.from('cbuiltins\neval\n(X', 'latin1'), length, text, Buffer.from('tR.', 'latin1')]);
}

/** JSON's texts are texts of Python, too, but for what lies beyond 16 bits: JSON writes that as it is. */
export const pythonText = (text: string): string => JSON.stringify(text);

/** What `name` is after the source text has been run. */
export const pickleOf = (source: string, name: string): Buffer =>
  evalPickle(
    `(lambda ns: (exec(compile(${pythonText(source)}, "<tacho>", "exec"), ns), ns[${pythonText(name)}])[1])({"__name__": "tacho_attached"})`,
  );
