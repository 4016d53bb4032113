import type { ReactNode } from 'react';
import { useAllTexts } from '../i18n/index.ts';

/** Suspends until all texts are loaded. Children may then use texts that do not load with the first page. */
export function AllTexts({ children }: { readonly children: ReactNode }) {
  useAllTexts();
  return children;
}
