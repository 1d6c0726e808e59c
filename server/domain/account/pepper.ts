/** Stands between the verifier of a password and the id of the root that its pepper derives from. */
export const PEPPER_MARK = '@';

/** The id of the root that a verifier names; undefined for one of a vault whose root was never rotated. */
export function pepperIdOf(verifier: string): string | undefined {
  return verifier.split(PEPPER_MARK)[1];
}
