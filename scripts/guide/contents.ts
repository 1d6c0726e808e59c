/** One page of the guide: a Markdown file of `docs/`. */
export interface Entry {
  /** Its path in `docs/`. */
  readonly file: string;
  /** The part of its URL behind `/guide/`. */
  readonly address: string;
  /** Its title in the table of contents; the heading of the page can be longer. */
  readonly title: string;
  /** One line about what a reader finds there. */
  readonly about: string;
  /** Subpages, listed only while this page or one of them is open. */
  readonly pages: readonly Entry[];
}

/** A link in the contents to something outside the guide. */
export interface Beside {
  readonly path: string;
  readonly title: string;
  readonly about: string;
}

export interface Group {
  readonly title: string;
  readonly entries: readonly Entry[];
  /** Links that are listed after the pages. */
  readonly beside?: readonly Beside[];
}

/**
 * The address of a file: its path without `.md`. The folders `guides` and `recipes` are omitted, and the README of a
 * folder has the address of the folder.
 */
function addressOf(file: string): string {
  return file
    .replace(/\.md$/, '')
    .replace(/^(?:guides|recipes)\//, '')
    .replace(/\/README$/, '');
}

function page(file: string, title: string, about: string, pages: readonly Entry[] = []): Entry {
  return {
    file,
    address: addressOf(file),
    title,
    about,
    pages,
  };
}

const DECISIONS = [
  page('decisions/nouns.md', 'Folders and services', 'Why nouns are folders and services classes'),
  page('decisions/audit-chain.md', 'Security log', 'How entries of the security log are linked'),
  page('decisions/record-revisions.md', 'Older copies of records', 'How a rolled back record is found'),
  page('decisions/backup.md', 'Backups', 'Why a backup is a walk, not a snapshot'),
  page('decisions/client-certificates.md', 'Client certificates', 'Who writes and reads requests for them'),
  page('decisions/sealed-captures.md', 'Sealed captures', 'Why one key of the day, and what a repeat is'),
  page('decisions/x-wing.md', 'X-Wing', 'Why captures are sealed to two kinds of key in one'),
  page('decisions/compression.md', 'Compression', 'Why replies about an account have none'),
  page('decisions/credentials.md', 'API credentials', 'How they are found, kept and ended'),
  page('decisions/people.md', 'People', 'What a session is, and how all of a person end'),
  page('decisions/single-sign-on.md', 'Single sign-on', 'What a sign-in at a provider leaves behind'),
  page('decisions/departures.md', 'Departures', 'Where the code differs from its plan'),
  page('decisions/endpoint-life.md', 'Life of an endpoint', 'What an endpoint asks at each use'),
  page(
    'decisions/passphrase-under-a-passkey.md',
    'Passphrases under passkeys',
    'Why browsers encrypt them, and against whom that helps',
  ),
  page('decisions/recovery.md', 'Recoveries', 'Why shares open a key pair, and who vouches for it'),
  page('decisions/export.md', 'Exports', 'Why any thread may encrypt a part of a file'),
  page('decisions/guide-pages.md', 'Pages of the guide', 'Why they are built before a start'),
  page('decisions/log-heads.md', 'Lengths of logs', 'How a log that was cut is found'),
  page('decisions/log-chain.md', 'Action log', 'What a log entry names'),
  page('decisions/pipelining.md', 'Pipelining', 'No effect without an answer'),
  page('decisions/read-transactions.md', 'Reads', 'Transactions of plain commands'),
  page('decisions/actor-names.md', 'Names in logs', 'Of credentials, also deleted ones'),
  page('decisions/readings.md', 'Readings of an account', 'How they are found'),
  page('decisions/page-log-records.md', 'Logs of bulk readings', 'An entry for each card'),
  page('decisions/limiter.md', 'Room for others', 'Who waits for whom, and when'),
  page('decisions/wire-client.md', 'Redis commands', 'Why our own code writes and reads them'),
  page(
    'decisions/third-party-client.md',
    'Requests to third parties',
    'Why our own code writes and reads them',
  ),
  page('decisions/own-histogram.md', 'Durations', 'Why they are counted by our own code'),
  page('decisions/own-json-parser.md', 'JSON parser', 'Why there is one of our own'),
  page('decisions/own-trace-exporter.md', 'Traces', 'Why spans are exported by our own code'),
  page('decisions/processes.md', 'Processes', 'How several processes are one server'),
  page('decisions/events.md', 'Events', 'Where they are found, so that none is lost'),
  page('decisions/proxy-jobs.md', 'Jobs of the proxy', 'Where the truth of a job lies'),
  page('decisions/reference-index.md', 'Reference index', 'How items are found by reference'),
  page('decisions/root-record.md', 'Root record', 'What keys of indexes derive from'),
  page('decisions/route-table.md', 'Route table', 'Why routes are data'),
  page('decisions/rules-and-masks.md', 'Rules and masks', 'Why rules never meet a masked number'),
  page('decisions/sdk-errors.md', 'Errors of the SDK', 'What they never hold'),
  page('decisions/sdk-repeats.md', 'Repeats of the SDK', 'Which calls are repeated'),
  page('decisions/starved-threads.md', 'Starved threads', 'When a thread counts as hung'),
  page('decisions/stored-at.md', 'Time of storing', 'Why stored_at never repeats'),
  page('decisions/ticks.md', 'Ticks', 'How requests share readings and writes of Redis'),
  page('decisions/usage-counts.md', 'Usage counts', 'How requests are counted once, with what they do'),
  page('decisions/inbound-messages.md', 'Messages through an inbound', 'Why they are edited in place'),
  page('decisions/two-key-layers.md', 'Two layers of keys', 'Master key and passphrase, both'),
  page('decisions/warm-blobs.md', 'Unlocked keys', 'Where they are kept'),
  page('decisions/sdk-package.md', 'Package of the SDK', 'Why it comes from the vault'),
];

/**
 * The table of contents of the guide, in reading order. A new Markdown file of `docs/` needs a line here; a test fails
 * without it.
 */
export const CONTENTS: readonly Group[] = [
  {
    title: 'Start',
    entries: [
      page('quick-start.md', 'Quick start', 'From nothing to a stored card that is read back'),
      page('concepts.md', 'Concepts', 'Keys, items, tokens, references, endpoints'),
    ],
  },
  {
    title: 'Recipes',
    entries: [
      page(
        'recipes/one-shop.md',
        'A shop from checkout to deletion',
        'All in one folder, on your own machine',
      ),
      page(
        'recipes/elements-and-stripe.md',
        'Elements and Stripe, in TypeScript',
        'The whole integration in a hundred lines',
      ),
      page('recipes/tokenize-at-checkout.md', 'Tokenize at checkout', 'A card becomes a token in your shop'),
      page(
        'recipes/charge-through-a-payment-service.md',
        'Charge through a payment service',
        'Pay with a token',
      ),
      page(
        'recipes/show-a-card-to-its-holder.md',
        'Show a card to its holder',
        'In a form of the vault, or in your own page',
      ),
      page(
        'recipes/receive-forwarded-cards.md',
        'Receive forwarded cards',
        'From a payment processor that sends them on',
      ),
      page(
        'recipes/cards-from-stripes-forwarding.md',
        'Cards from Stripe’s forwarding',
        'Stripe sends the cards that it keeps to your vault',
      ),
      page(
        'recipes/a-link-that-works-once.md',
        'A link that works once',
        'The first press shows the card, then the link is dead',
      ),
      page(
        'recipes/orders-from-a-marketplace.md',
        'Orders from a marketplace',
        'Your server gets tokens, and never a card',
      ),
      page('recipes/a-checkout-of-an-app.md', 'A checkout of an app', 'Its form comes with a token'),
      page(
        'recipes/bookings-that-are-pulled.md',
        'Bookings that are pulled',
        'A reply with cards becomes one with tokens',
      ),
      page('recipes/rotate-a-passphrase.md', 'Rotate a passphrase', 'While your servers go on reading'),
      page(
        'recipes/a-credential-for-each-program.md',
        'A credential for each program',
        'No program has more rights than it needs',
      ),
      page('recipes/many-cards.md', 'Store and read many cards', 'Any number of them, with one loop'),
      page(
        'recipes/move-from-another-vault.md',
        'Move from another vault',
        'Bring cards along, and check that all came',
      ),
    ],
  },
  {
    title: 'Guides',
    entries: [
      page('guides/keys.md', 'Keys', 'Names and passphrases that everything is stored under'),
      page(
        'guides/recovery.md',
        'Recovery of a key',
        'Open a key whose passphrase is lost, with the shares of several people',
      ),
      page('guides/items.md', 'Items', 'Store, read, list, change and delete what a key holds'),
      page('guides/export.md', 'Export', 'Take the items of a key along, in one encrypted file'),
      page('guides/import.md', 'Import', 'Store a whole file: CSV, or the export of another vault'),
      page('guides/erase-a-customer.md', 'Erase a customer', 'What goes at once, and what remains'),
      page('guides/capture.md', 'Capture endpoints', 'Let web pages and partners store, without an account'),
      page('guides/inbound.md', 'Inbounds', 'Requests to your server whose cards become tokens on their way'),
      page('guides/retrieve.md', 'Retrieval endpoints', 'Let others read one item, one customer or one key'),
      page('guides/forms.md', 'Hosted forms', 'Ask people for a card in your page, or show them one'),
      page('guides/elements.md', 'Elements', 'Single fields in a checkout of your own layout'),
      page('guides/rules.md', 'Rules', 'Change data on its way in or out'),
      page('guides/proxy.md', 'Requests to third parties', 'Pay with a card that you never hold'),
      page('guides/relay.md', 'Relay', 'Keep the SDK of your payment service'),
      page('guides/sandbox.md', 'A payment service to try with', 'Charge a card on your own machine'),
      page('guides/webhooks.md', 'Webhooks', 'Learn what came of requests to third parties'),
      page('guides/events.md', 'Events', 'Be told what happens to items, keys and credentials'),
      page('guides/jobs.md', 'Jobs', 'See, cancel and repeat what runs later'),
      page('guides/client-certificates.md', 'Client certificates', 'For third parties that want to see one'),
      page('guides/generated-clients.md', 'Generated clients', 'For languages without an SDK'),
      page('guides/least-privilege.md', 'Least privilege', 'Credentials with a part of an account’s rights'),
      page(
        'guides/platforms.md',
        'Accounts for a platform',
        'Create, limit, suspend and delete accounts by API',
      ),
      page(
        'guides/people.md',
        'People',
        'Roles, invitations and passkeys for those who work with an account',
      ),
      page('guides/console.md', 'Console', 'Screens for support, operators and product owners'),
      page('guides/single-sign-on.md', 'Single sign-on', 'Sign in at the console with your own provider'),
      page('guides/billing-and-preferences.md', 'Account and bills', 'Usage, preferences, password'),
      page('guides/audit.md', 'Security log', 'What happened to an account, in an order that shows changes'),
    ],
  },
  {
    title: 'Reference',
    entries: [
      page('errors.md', 'Errors', 'Every error: status, code, meaning'),
      page('sdk.md', 'SDK', 'Every class, call and type of the client'),
      page('settings.md', 'Settings', 'Every environment variable of the server'),
    ],
    beside: [{ path: '/docs', title: 'HTTP API', about: 'Every operation, with a request and its reply' }],
  },
  {
    title: 'Operating',
    entries: [
      page('guides/production.md', 'Production', 'What a server that holds real cards needs'),
      page('operations.md', 'Operations', 'Sizes, upgrades, rotation, incidents'),
      page('upgrades.md', 'Versions and upgrades', 'What a version promises, and going back'),
      page('guides/limits.md', 'Limits', 'What one account or one address may use'),
      page('guides/master-key.md', 'Master key', 'Change it while servers run'),
      page('guides/master-key-sources.md', 'Where the master key is kept', 'systemd, age, a hardware module'),
      page('guides/monitoring.md', 'Monitoring', 'Metrics, traces, alerts'),
      page('guides/backup.md', 'Backups', 'One sealed file, made while servers run'),
      page(
        'guides/redis.md',
        'Your own Redis',
        'TLS, Sentinel, a Cluster, managed services, and what was tried',
      ),
      page('guides/redis-cluster.md', 'Redis Cluster', 'When one Redis is too small'),
      page('pci-dss.md', 'PCI DSS', 'What the vault does, and what stays with you'),
    ],
  },
  {
    title: 'Inside',
    entries: [
      page('architecture.md', 'Architecture', 'Layers, and the way of a request through them'),
      page('crypto.md', 'Cryptography', 'Promises, keys and byte formats'),
      page('storage.md', 'Storage', 'What lies in Redis under which name'),
      page('threats.md', 'Threat model', 'What the vault defends against, and what not'),
      page('performance.md', 'Performance', 'Speed, latency, growth and memory, measured'),
      page('testing.md', 'Testing', 'What is tried, and how to try it again'),
      page('decisions/README.md', 'Decisions', 'Choices that someone could undo by accident', DECISIONS),
    ],
  },
];

/** All pages in reading order. */
export const ENTRIES: readonly Entry[] = CONTENTS.flatMap(({ entries }) =>
  entries.flatMap((entry) => [entry, ...entry.pages]),
);

/**
 * Targets for links to files of the repository that are not pages of the guide. A link to any other file outside
 * `docs/` becomes plain text, because the server has no such file.
 */
export const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['README.md', '/guide/quick-start'],
  ['sdk/README.md', '/guide/sdk'],
  ['sdk/openapi.json', '/openapi.json'],
]);
