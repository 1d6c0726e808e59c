/** With `VAULT_TEST_TRANSCRIPT=1` the tests print what browser, vault and provider send each other, without secrets. */
const IS_SHOWN = process.env['VAULT_TEST_TRANSCRIPT'] === '1';

/** Values that are shown as their names. */
const SECRETS =
  /\b(code|state|nonce|code_challenge|code_verifier|access_token|vault_signin|vault_session)=([^&;\s]+)/g;

/** Prints lines, with secrets replaced by their names. */
export function show(...lines: readonly string[]): void {
  if (IS_SHOWN) {
    for (const line of lines) {
      process.stdout.write(`${line.replaceAll(SECRETS, (_all, name: string) => `${name}=<${name}>`)}\n`);
    }
  }
}
