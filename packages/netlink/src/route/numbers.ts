/** Numbers of linux/rtnetlink.h and linux/if.h that more than one family needs. */
export const RTM_NEWLINK = 16;
export const RTM_DELLINK = 17;
export const RTM_GETLINK = 18;
export const RTM_SETLINK = 19;
export const RTM_NEWADDR = 20;
export const RTM_DELADDR = 21;
export const RTM_GETADDR = 22;
export const RTM_NEWROUTE = 24;
export const RTM_DELROUTE = 25;
export const RTM_GETROUTE = 26;
export const RTM_NEWNEIGH = 28;
export const RTM_DELNEIGH = 29;
export const RTM_GETNEIGH = 30;
export const RTM_NEWNSID = 88;
export const RTM_GETNSID = 90;
export const RTM_GETSTATS = 94;
export const RTM_NEWLINKPROP = 108;
export const RTM_DELLINKPROP = 109;

export const AF_UNSPEC = 0;
export const AF_INET = 2;
export const AF_BRIDGE = 7;
export const AF_INET6 = 10;

export const IFF_UP = 0x1;
