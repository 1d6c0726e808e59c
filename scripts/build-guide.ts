/**
 * Builds the guide that the server serves under `/guide` into `dist/guide`: pages, search index and assets, each also
 * compressed, with the hash of its bytes in its name, and `guide.json`, which maps paths to files. With `--if-changed`
 * it does nothing if the sources have not changed.
 *
 *     bun scripts/build-guide.ts [--if-changed] [FOLDER]
 */
import { folderOf, makeArtifact } from './artifact.ts';
import { renderGuide } from './guide/render.ts';
import { writeSite } from './site/write.ts';

const INDEX = 'guide.json';

const folder = folderOf('guide');
const isMade = await makeArtifact({
  folder,
  // The lock file represents the packages.
  sources: [
    'docs/**/*.{md,png,svg}',
    'scripts/guide/**/*',
    'bun.lock',
    'scripts/site/*',
    'scripts/{artifact,build-guide}.ts',
  ],
  index: INDEX,
  make: async (work) => writeSite(work, INDEX, await renderGuide()),
});
if (isMade) {
  console.log(folder);
}
