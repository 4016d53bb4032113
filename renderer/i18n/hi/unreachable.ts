import type { UnreachableKey } from '../en/unreachable.ts';

export const unreachable: Readonly<Record<UnreachableKey, string>> = {
  title: 'सर्वर तक पहुँचा नहीं जा सका',
  text: 'Trainyard अपने सर्वर तक नहीं पहुँच पा रहा है। वर्करों पर प्रशिक्षण जारी है। सर्वर के जवाब देते ही यह पेज फिर से लोड होगा।',
  retry: 'फिर कोशिश करें',
};
