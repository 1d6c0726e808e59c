/** The environment that systemd gives a service, as far as the units of `deploy` use it (systemd.exec(5)). */

/** Of a unit and the additions to it, with a folder for `%d`. */
interface Service {
  readonly environment: Readonly<Record<string, string>>;
  /** The file of each credential, by its name. */
  readonly credentials: ReadonlyMap<string, string>;
}

/** Reads a unit and the additions to it, in their order. */
export function serviceOf(texts: readonly string[], credentialsFolder: string): Service {
  const environment = new Map<string, string>();
  const credentials = new Map<string, string>();
  const unset: string[] = [];
  for (const [, name = '', value = ''] of texts.join('\n').matchAll(/^(\w+)=(.*)$/gm)) {
    if (name === 'Environment') {
      for (const [, quoted, plain = ''] of value.matchAll(/"([^"]*)"|(\S+)/g)) {
        const [key = '', text = ''] = (quoted ?? plain).split(/=(.*)/s);
        environment.set(key, text.replaceAll('%d', credentialsFolder));
      }
    } else if (name === 'UnsetEnvironment') {
      unset.push(...value.split(' '));
    } else if (name.startsWith('LoadCredential') && value === '') {
      credentials.clear();
    } else if (name.startsWith('LoadCredential')) {
      const [id = '', file = ''] = value.split(':');
      credentials.set(id, file);
    }
  }
  // It comes last, wherever it stands.
  for (const name of unset) {
    environment.delete(name);
  }
  return { environment: Object.fromEntries(environment), credentials };
}
