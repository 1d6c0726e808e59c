import { bindParts } from '../core/bind.ts';
import type { RandomId } from '../core/clock.ts';
import { coalesce } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AccountContext } from '../request/context.ts';
import { isPdf, PDF_BYTES_MAX } from './pdf.ts';
import type { ComplianceStore } from './store.ts';

const PLACE = { purpose: 'record', account: '', kind: 'compliance', path: ['pci-dss'] } as const;

interface ComplianceDependencies {
  readonly crypto: Pick<Crypto, 'sealRecord' | 'openRecord'>;
  readonly complianceStore: ComplianceStore;
  readonly randomId: RandomId;
}

interface ComplianceParts extends ComplianceDependencies {
  /** One document of megabytes in memory, however many ask for it. */
  readonly readFresh: () => Promise<Uint8Array | undefined>;
}

/** The operator's certificate of compliance, for accounts that pay. */
export type Compliance = ReturnType<typeof createCompliance>;

/** Makes the certificate of compliance of a server, which is read when it is asked for. */
export function createCompliance(dependencies: ComplianceDependencies) {
  const { crypto, complianceStore } = dependencies;
  let known: { readonly version: string; readonly pdf: Uint8Array } | undefined;
  const readFresh = coalesce(async () => {
    const version = await complianceStore.version();
    if (version === undefined || version !== known?.version) {
      const stored = version === undefined ? undefined : await complianceStore.read();
      known = stored && {
        version: stored.version,
        pdf: await crypto.openRecord({ place: PLACE, record: stored.record }),
      };
    }
    return known?.pdf;
  });
  const parts: ComplianceParts = { ...dependencies, readFresh };
  return bindParts(parts, { load, read });
}

/** Replaces the document; false, with nothing changed, when it is no PDF of at most 10 MB. */
async function load(
  { crypto, complianceStore, randomId }: ComplianceParts,
  pdf: Uint8Array,
): Promise<boolean> {
  if (pdf.length > PDF_BYTES_MAX || !isPdf(pdf)) {
    return false;
  }
  await complianceStore.save(randomId(), await crypto.sealRecord({ place: PLACE, plaintext: pdf }));
  return true;
}

/** The document as a PDF. Rejects with `not_allowed` for an account that does not pay, and `certificate_not_found`. */
async function read({ readFresh }: ComplianceParts, { account }: AccountContext): Promise<Uint8Array> {
  if (!account.paying) {
    throw new VaultError('not_allowed');
  }
  const pdf = await readFresh();
  if (!pdf) {
    throw new VaultError('certificate_not_found');
  }
  return pdf;
}
