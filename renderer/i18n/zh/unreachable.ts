import type { UnreachableKey } from '../en/unreachable.ts';

export const unreachable: Readonly<Record<UnreachableKey, string>> = {
  title: '无法连接服务器',
  text: 'Trainyard 无法连接其服务器。训练仍在工作节点上继续。服务器一旦响应，此页面会自动重新加载。',
  retry: '重试',
};
