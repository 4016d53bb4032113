import type { ConfigView } from '../../../protocol/configs-api.ts';
import type { Translator } from '../../i18n/index.ts';

/** Such as "flux · lora · 2 GPUs · changed 3 hr. ago". */
export function aboutConfig(entry: ConfigView, ago: string, t: Translator): string {
  const { model_family: family, model_type: type, gpu_count: gpus, devices } = entry;
  const parts = [
    family,
    type,
    devices === null
      ? t('jobs.configs.gpus', { count: gpus ?? 0 })
      : t('jobs.configs.devices', { list: devices.join(', ') }),
    t('jobs.configs.changed', { time: ago }),
  ];
  return parts.filter(part => part !== null).join(' · ');
}
