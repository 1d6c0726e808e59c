/** Builds the package of the hosted forms: scripts, their hashes and their types, into forms/dist or another folder. */
import { join } from 'node:path';
import { $ } from 'bun';
import { buildForms, buildReact } from '../forms/build.ts';

const root = join(import.meta.dir, '..');
const folder = process.argv[2] ?? join(root, 'forms', 'dist');
const { version, files } = await buildForms();
const scripts = [...files, await buildReact()];

for (const { name, bytes } of scripts) {
  await Bun.write(join(folder, name), bytes);
}
const integrity = Object.fromEntries(files.map((file) => [file.name, file.integrity]));
const tsup = join(root, 'node_modules/tsup/dist/cli-default.js');
await $`${process.execPath} --no-env-file ${tsup} --config forms/tsup.config.ts --out-dir ${folder} --silent`.cwd(
  root,
);
await Bun.write(join(folder, 'sri.json'), `${JSON.stringify({ version, integrity }, null, 2)}\n`);

console.log(`${folder}, version ${version}`);
console.table(
  Object.fromEntries(
    scripts.map(({ name, bytes, integrity }) => [
      name,
      { bytes: bytes.length, gzip: Bun.gzipSync(bytes).length, integrity },
    ]),
  ),
);
