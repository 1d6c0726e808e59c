import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import { isPdf, PDF_BYTES_MAX } from '../../domain/account/pdf.ts';
import type { ComplianceStore } from '../../store/admin.ts';
import type { RandomId } from '../common/clock.ts';
import { coalesce } from '../common/coalesce.ts';
import type { AccountContext } from '../common/request-context.ts';

export interface ComplianceService {
  /** The operator's certificate as a PDF. Refuses with `not_allowed` who does not pay, and `certificate_not_found`. */
  readonly read: (ctx: AccountContext) => Promise<Uint8Array>;
}

const PLACE = { purpose: 'record', account: '', kind: 'compliance', path: ['pci-dss'] } as const;

/** The operator's certificate of compliance, for accounts that pay. */
export interface Compliance extends ComplianceService {
  /** Puts a document in the place of the old one; false, with nothing changed, when it is no PDF of at most 10 MB. */
  readonly load: (pdf: Uint8Array) => Promise<boolean>;
}

export function createCompliance({
  crypto,
  complianceStore,
  randomId,
}: {
  readonly crypto: Pick<Crypto, 'sealRecord' | 'openRecord'>;
  readonly complianceStore: ComplianceStore;
  readonly randomId: RandomId;
}): Compliance {
  // One document of megabytes in memory, however many ask for it.
  let known: { readonly version: string; readonly pdf: Uint8Array } | undefined;

  const readFresh = coalesce(async () => {
    const version = await complianceStore.version();
    if (version === undefined || version === known?.version) {
      known = version === undefined ? undefined : known;
      return known?.pdf;
    }
    const stored = await complianceStore.read();
    known = stored && {
      version: stored.version,
      pdf: await crypto.openRecord({ place: PLACE, record: stored.record }),
    };
    return known?.pdf;
  });

  return {
    async load(pdf) {
      if (pdf.length > PDF_BYTES_MAX || !isPdf(pdf)) {
        return false;
      }
      await complianceStore.save(randomId(), await crypto.sealRecord({ place: PLACE, plaintext: pdf }));
      return true;
    },
    async read({ account }) {
      if (!account.paying) {
        throw new VaultError('not_allowed');
      }
      const pdf = await readFresh();
      if (!pdf) {
        throw new VaultError('certificate_not_found');
      }
      return pdf;
    },
  };
}
