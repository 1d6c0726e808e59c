/** The names of all calls of clients, as they are called: `keys.create`, and `keys.recovery.create` of a group in a group. */
export function callNames(clients: object, prefix = ''): string[] {
  return Object.entries(clients).flatMap(([name, member]) =>
    typeof member === 'function' ? [`${prefix}${name}`] : callNames(member, `${prefix}${name}.`),
  );
}
