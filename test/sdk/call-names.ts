/**
 * The names of all calls of clients, as they are called: `keys.create`, and `keys.recovery.create` of a group in a group.
 * What is no call of a group, such as `relay`, only makes something that calls.
 */
export function callNames(clients: object, prefix = ''): string[] {
  return Object.entries(clients).flatMap(([name, member]) =>
    typeof member === 'function'
      ? prefix === ''
        ? []
        : [`${prefix}${name}`]
      : callNames(member, `${prefix}${name}.`),
  );
}
