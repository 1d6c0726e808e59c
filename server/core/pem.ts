const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a PEM text, without keys and comments. */
export function certificatesIn(pem: string): readonly string[] {
  return pem.match(CERTIFICATE) ?? [];
}
