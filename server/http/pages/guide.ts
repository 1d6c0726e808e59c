import { builtPages } from './built.ts';
import { pagePolicy } from './html.ts';
import type { Page } from './pages.ts';

/** Nothing may be loaded from another host, and inline scripts and styles are forbidden. */
const POLICY = pagePolicy({
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
});

/** The guide under `/guide` and the API reference under `/docs`, as `scripts/build-guide.ts` has built them. */
export function guidePages(folder = new URL('../../../dist/guide/', import.meta.url)): readonly Page[] {
  return ['/guide', '/docs'].flatMap((root) =>
    builtPages({
      ...{ root, folder, index: 'guide.json', policy: POLICY },
      notBuilt: 'This server has no built guide. Run `bun run build:guide` in its checkout.\n',
    }),
  );
}
