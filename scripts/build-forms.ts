/** Builds the browser scripts of the hosted forms, with their hashes, into forms/dist or another folder. */
import { join } from 'node:path';
import { buildForms } from '../forms/build.ts';

const folder = process.argv[2] ?? join(import.meta.dir, '..', 'forms', 'dist');
const { version, files } = await buildForms();

for (const { name, bytes } of files) {
  await Bun.write(join(folder, name), bytes);
}
const integrity = Object.fromEntries(files.map((file) => [file.name, file.integrity]));
await Bun.write(join(folder, 'sri.json'), `${JSON.stringify({ version, integrity }, null, 2)}\n`);

console.log(`${folder}, version ${version}`);
console.table(
  Object.fromEntries(
    files.map(({ name, bytes, integrity }) => [
      name,
      { bytes: bytes.length, gzip: Bun.gzipSync(bytes).length, integrity },
    ]),
  ),
);
