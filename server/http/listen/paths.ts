/** A request from the runtime's router, with the percent-decoded parts of its path. */
type Routed = Request & { readonly params: Readonly<Record<string, string>> };

type Respond = (request: Request) => Response | Promise<Response>;

type PathTable = Readonly<Record<string, (request: Routed) => Response | Promise<Response>>>;

/** More parts than any served path has. */
const PARTS_MAX = 12;

/** True if a decoded part would name another path for a program that decodes or resolves it. */
function hasMisleading(params: Routed['params']): boolean {
  return Object.values(params).some((part) => part === '.' || part === '..' || /[/\\#]/.test(part));
}

/** True if normalization has changed the path of a URL: without an empty part and up to `PARTS_MAX`, all are in the table. */
function isChanged(url: string): boolean {
  const parts = URL.parse(url)?.pathname.replace(/\/$/, '').slice(1).split('/') ?? [''];
  return parts.length <= PARTS_MAX && !parts.includes('');
}

/** `/a` and `/a/` for the path `/a`. */
function withSlash(path: string): readonly string[] {
  return path === '/' ? [path] : [path, `${path}/`];
}

/**
 * The table of the runtime's router, which compares the received path byte by byte. The URL of a request is already
 * normalized: a backslash is a slash, and dot segments are resolved, so a front end could read another path than this server.
 * `serve` gets the given and unknown paths; `reject` a path with a backslash, a dot segment, an encoded slash or a fragment.
 */
export function createPathTable(paths: readonly string[], serve: Respond, reject: Respond): PathTable {
  const checked = (request: Routed) => (hasMisleading(request.params) ? reject(request) : serve(request));
  const table: Record<string, PathTable[string]> = {
    '/*': (request) => (isChanged(request.url) ? reject(request) : serve(request)),
    '/': serve,
  };
  for (let parts = 1; parts <= PARTS_MAX; parts++) {
    const generic = Array.from({ length: parts }, (_, at) => `/:p${at}`).join('');
    for (const path of withSlash(generic)) {
      table[path] = checked;
    }
  }
  for (const path of paths.flatMap(withSlash)) {
    if (!path.includes('*')) {
      table[path] = path.includes(':') ? checked : serve;
    }
  }
  return table;
}
