import type { ReactNode } from 'react';
import { useAllTexts } from '../i18n/index.ts';

/** Surrounds what uses texts that do not load with the first page. Suspends until they are loaded. */
export function AllTexts({ children }: { readonly children: ReactNode }) {
  useAllTexts();
  return children;
}
