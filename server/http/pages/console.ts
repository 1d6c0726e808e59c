import type { HttpConfig } from '../deps.ts';
import { builtPages } from './built.ts';
import { pagePolicy } from './html.ts';
import type { Page } from './pages.ts';

/** Nothing of another host but previews of forms; no inline script or style, and no text that becomes code. */
function policyOf({ formsUrl }: Pick<HttpConfig, 'formsUrl'>): string {
  return pagePolicy({
    'script-src': "'self'",
    'style-src': "'self'",
    'img-src': "'self'",
    'connect-src': "'self'",
    'frame-src': formsUrl ?? "'self'",
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  });
}

/** The console under `/console`, as `scripts/build-console.ts` has built it. It is a client of the API like others. */
export function consolePages(
  http: Pick<HttpConfig, 'formsUrl'>,
  folder = new URL('../../../dist/console/', import.meta.url),
): readonly Page[] {
  return builtPages({
    ...{ root: '/console', folder, index: 'console.json', policy: policyOf(http) },
    notBuilt: 'The console of this server is not built. Run `bun run build:console` in its checkout.\n',
  });
}
