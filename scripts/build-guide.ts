/**
 * Builds the guide that the server serves under `/guide`, and the API reference under `/docs`, into `dist/guide`: pages,
 * search index and assets, each also compressed, with the hash of its bytes in its name, and `guide.json`, which maps paths to files. With `--if-changed`
 * it does nothing if the sources have not changed.
 *
 *     bun scripts/build-guide.ts [--if-changed] [FOLDER]
 */
import { folderOf, makeArtifact } from './artifact.ts';
import { renderGuide } from './guide/render.ts';
import { readApi } from './reference/document.ts';
import { referenceOf } from './reference/pages.ts';
import { readExamples } from './reference/typescript.ts';
import { writeSite } from './site/write.ts';

const INDEX = 'guide.json';
const API = new URL('../sdk/openapi.json', import.meta.url);
const SDK = new URL('../docs/sdk.md', import.meta.url);

const folder = folderOf('guide');
const isMade = await makeArtifact({
  folder,
  // The lock file represents the packages.
  sources: [
    'docs/**/*.{md,png,svg}',
    'scripts/guide/**/*',
    'scripts/reference/*',
    'sdk/openapi.json',
    'bun.lock',
    'scripts/site/*',
    'scripts/{artifact,build-guide}.ts',
  ],
  index: INDEX,
  make: async (work) => {
    const reference = referenceOf(await readApi(API), await readExamples(SDK));
    return writeSite(work, INDEX, await renderGuide(reference));
  },
});
if (isMade) {
  console.log(folder);
}
