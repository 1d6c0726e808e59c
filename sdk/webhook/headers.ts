/** Headers of a request, as different runtimes represent them. */

/** `Headers`, Node's `IncomingHttpHeaders`, or a plain object with names in any case. */
export type WebhookHeaders =
  | {
      /** As `Headers` has it. */
      readonly get: (name: string) => string | null | undefined;
    }
  | { readonly [name: string]: string | readonly string[] | undefined };

/** Every value of a header; `name` is in lower case. */
export function headerValues(headers: WebhookHeaders, name: string): readonly string[] {
  if (hasGet(headers)) {
    const value = headers.get(name);
    return typeof value === 'string' ? [value] : [];
  }
  return Object.entries(headers)
    .filter(([own]) => own.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
}

function hasGet(
  headers: WebhookHeaders,
): headers is { readonly get: (name: string) => string | null | undefined } {
  return typeof headers.get === 'function';
}
