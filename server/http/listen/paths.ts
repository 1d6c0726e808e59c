/** A request as the runtime's own router hands it on, with the parts of its path percent-decoded. */
type Routed = Request & { readonly params: Readonly<Record<string, string>> };

/** Answers a request. */
type Respond = (request: Request) => Response | Promise<Response>;

/** Handlers of the runtime's own router, by path. */
type PathTable = Readonly<Record<string, (request: Routed) => Response | Promise<Response>>>;

/** More parts than any path has that is served; the path of a longer one leads nowhere. */
const PARTS_MAX = 12;

/** Whether a decoded part of a path would mean another place to somebody who decodes or resolves it. */
function isMisleading(part: string): boolean {
  return part === '.' || part === '..' || part.includes('/') || part.includes('\\') || part.includes('#');
}

function hasMisleading(params: Routed['params']): boolean {
  for (const name in params) {
    if (isMisleading(params[name] ?? '')) {
      return true;
    }
  }
  return false;
}

/**
 * Whether the path of a URL has changed in its normal form: only one with an empty part, or with more parts than
 * `PARTS_MAX`, is on none of the paths of the table as it stands.
 */
function isChanged(url: string): boolean {
  const parts = URL.parse(url)?.pathname.replace(/\/$/, '').slice(1).split('/') ?? [''];
  return parts.length <= PARTS_MAX && !parts.includes('');
}

/** `/a` and `/a/` for the path `/a`. */
function withSlash(path: string): readonly string[] {
  return path === '/' ? [path] : [path, `${path}/`];
}

/**
 * The table of the runtime's own router, which compares a path as it was sent, byte by byte. The URL of a request is
 * already in its normal form: a backslash has become a slash there, and dot segments are resolved, so that a front end and
 * this server could read the same request as two. Served are the given paths and what is under no path at all;
 * `refuse` answers a path with a backslash, a dot segment, an encoded slash or a fragment.
 */
export function createPathTable(paths: readonly string[], serve: Respond, refuse: Respond): PathTable {
  const checked = (request: Routed) => (hasMisleading(request.params) ? refuse(request) : serve(request));
  const table: Record<string, PathTable[string]> = {
    '/*': (request) => (isChanged(request.url) ? refuse(request) : serve(request)),
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
