import * as fs from 'node:fs';
import * as path from 'node:path';

/** A C project as projects are: modules with headers, a library, a program, tests that run, a Makefile with shell in it. */
export function writeProject(folder: string, modules = 60): void {
  fs.mkdirSync(folder, { recursive: true });
  const names = Array.from({ length: modules }, (_, i) => `module${i}`);
  names.forEach((name, i) => {
    fs.writeFileSync(
      path.join(folder, `${name}.h`),
      `int ${name}_sum(int n);\nint ${name}_find(const int *values, int n);\n`,
    );
    fs.writeFileSync(path.join(folder, `${name}.c`), source(name, i, names));
  });
  const calls = names.map((name) => `    sum += ${name}_sum(argc + 10);`).join('\n');
  const includes = names.map((name) => `#include "${name}.h"`).join('\n');
  fs.writeFileSync(
    path.join(folder, 'main.c'),
    `${includes}\n#include <stdio.h>\nint main(int argc, char **argv)\n{\n    long sum = 0;\n    (void)argv;\n${calls}\n    printf("%ld\\n", sum);\n    return 0;\n}\n`,
  );
  fs.writeFileSync(path.join(folder, 'Makefile'), makefile(names));
}

/** Some functions with loops, tables and library calls: a compiler has to think about them for a while. */
function source(name: string, seed: number, names: readonly string[]): string {
  const other = names[(seed + 1) % names.length]!;
  const functions = Array.from(
    { length: 12 },
    (_, f) => `
static int ${name}_step${f}(int *values, int n)
{
    char text[64];
    int found = ${seed + f};
    for (int i = 0; i < n; i++) {
        values[i] = (values[i] * ${31 + f} + ${seed}) % ${1009 + f};
        if (values[i] % 7 == ${f % 7}) {
            snprintf(text, sizeof text, "%d:%s", values[i], i % 2 ? "odd" : "even");
            found += (int)strlen(text) + abs(values[n - 1 - i]);
        } else
            found ^= values[(i * 3 + ${f}) % n];
    }
    return found;
}`,
  ).join('\n');
  const steps = Array.from({ length: 12 }, (_, f) => `    sum += ${name}_step${f}(values, 256);`).join('\n');
  return `#include "${name}.h"
#include "${other}.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
${functions}

int ${name}_sum(int n)
{
    int values[256], sum = 0;
    for (int i = 0; i < 256; i++)
        values[i] = i * n + ${seed};
${steps}
    return sum % 100000;
}

int ${name}_find(const int *values, int n)
{
    for (int i = 0; i < n; i++)
        if (values[i] == ${seed})
            return i;
    return -1;
}
`;
}

function makefile(names: readonly string[]): string {
  return `OBJECTS = ${names.map((name) => `${name}.o`).join(' ')}
CFLAGS = -O2 -Wall -g

all: program
	@./program >result && test -s result

%.o: %.c
	@mkdir -p build
	$(CC) $(CFLAGS) -c -o $@ $<

library.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $(OBJECTS)

program: main.o library.a
	$(CC) -o $@ main.o library.a -lm

clean:
	rm -rf build library.a program result *.o
`;
}
