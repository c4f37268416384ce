// Writes src/types.ts from the server's models: npm run types. With --check it only says whether the file is current.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile } from 'json-schema-to-typescript';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const target = join(here, 'src', 'types.ts');
const local = join(root, '.venv', 'bin', 'python');
const python = process.env.PYTHON ?? (existsSync(local) ? local : 'python3');

/** The schema without the titles that pydantic gives to properties: each would become a type of its own. */
function untitled(part) {
  if (Array.isArray(part)) {
    return part.map(untitled);
  }
  if (part === null || typeof part !== 'object') {
    return part;
  }
  return Object.fromEntries(
    Object.entries(part)
      .filter(([name, value]) => !(name === 'title' && typeof value === 'string'))
      .map(([name, value]) => [name, untitled(value)])
  );
}

const printed = execFileSync(python, ['-m', 'aide_jupyter.server.schema'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 1 << 26
});
const { $defs } = untitled(JSON.parse(printed));
$defs.JsonValue = { tsType: 'unknown' };
for (const model of Object.values($defs)) {
  // What tells the members of a union apart is always there, with or without a default.
  const told = Object.keys(model.properties ?? {}).filter(name => 'const' in model.properties[name]);
  model.required = [...new Set([...(model.required ?? []), ...told])];
}
const text = await compile({ $defs, title: 'Unused' }, 'Unused', {
  additionalProperties: false,
  bannerComment: '/* Generated from aide_jupyter/server/models by `npm run types`. Change it there. */',
  format: true,
  ignoreMinAndMaxItems: true,
  style: { singleQuote: true, trailingComma: 'none', arrowParens: 'avoid', printWidth: 120 },
  unreachableDefinitions: true
});
// What the compiler says about its own way of working, and the type that only carries the others.
const types = text
  .replace(/export interface Unused \{[^}]*\}\n/, '')
  .replace(/\/\*\*\n \* This interface was referenced by [^/]*\*\/\n/g, '')
  .replace(/ \*\n \* This interface was referenced by [^/]*\*\/\n/g, ' */\n');

if (!process.argv.includes('--check')) {
  writeFileSync(target, types);
} else if (!existsSync(target) || readFileSync(target, 'utf8') !== types) {
  console.error('labextension/src/types.ts is not what the server models give. Run `npm run types`.');
  process.exitCode = 1;
}
