/** The settings that a page starts the vault with, for a reader whose folder is this one. */
export function settingsOf(command: string, folder: string): Record<string, string> {
  return Object.fromEntries(
    [...command.matchAll(/(VAULT_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [
      name,
      value.replace('/home/ada/shop', folder),
    ]),
  );
}
