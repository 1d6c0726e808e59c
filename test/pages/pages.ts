import { join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..', '..');

/** All pages of the project, by their paths. */
export const ALL_PAGES: readonly string[] = ['*.md', '{docs,deploy,sdk,forms}/**/*.md']
  .flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: ROOT })])
  .filter((path) => !path.includes('node_modules/'))
  .sort();

const OWN_SHOP = 'docs/recipes/a-credential-for-each-program.md';
/** Recipes of whole shops, which tests of their own paste into empty folders. */
const WHOLE = ['docs/recipes/one-shop.md', 'docs/recipes/elements-and-stripe.md'];

/**
 * The pages whose blocks are run, in the order in which a reader tries them. The pages of one list share a server that
 * was empty before the first of them; their names for keys, forms and endpoints must therefore differ. A new guide is
 * one line here; a recipe needs none, but for those of whole shops.
 */
export const RUNS: readonly (readonly string[])[] = [
  [
    'README.md',
    'docs/guides/capture.md',
    'docs/guides/retrieve.md',
    'docs/guides/rules.md',
    'docs/guides/proxy.md',
    'docs/guides/relay.md',
    'docs/guides/inbound.md',
    'docs/guides/webhooks.md',
    'docs/guides/events.md',
    'docs/guides/jobs.md',
    'docs/guides/least-privilege.md',
    'docs/guides/platforms.md',
    'docs/guides/people.md',
    'docs/guides/client-certificates.md',
    'docs/guides/forms.md',
    'docs/guides/elements.md',
    'docs/guides/billing-and-preferences.md',
    'docs/guides/backup.md',
    'docs/guides/audit.md',
  ],
  ['docs/guides/keys.md', 'docs/guides/items.md', 'docs/guides/erase-a-customer.md'],
  ['docs/quick-start.md'],
  // It has the account see numbers, which other pages show masked.
  ['docs/guides/export.md'],
  ['docs/guides/recovery.md'],
  // Its reader comes without that.
  ['docs/guides/import.md'],
  ['docs/operations.md'],
  // Its payment would be on the list that another recipe shows.
  [OWN_SHOP],
  ALL_PAGES.filter((path) => path.startsWith('docs/recipes/') && !WHOLE.includes(path) && path !== OWN_SHOP),
].filter((pages) => pages.length > 0);
