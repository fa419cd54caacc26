-- Who bought in a store and also on the web or from the catalog.
select cd_gender, cd_education_status, count(*) as cnt1
from customer c, customer_address ca, customer_demographics
where c.c_current_addr_sk = ca.ca_address_sk and ca_county in ('Rush County', 'Toole County')
  and cd_demo_sk = c.c_current_cdemo_sk
  and exists (select * from store_sales, date_dim where c.c_customer_sk = ss_customer_sk
              and ss_sold_date_sk = d_date_sk and d_year = 2000 and d_moy between 1 and 4)
  and (exists (select * from web_sales, date_dim where c.c_customer_sk = ws_bill_customer_sk
               and ws_sold_date_sk = d_date_sk and d_year = 2000 and d_moy between 1 and 4)
    or exists (select * from catalog_sales, date_dim where c.c_customer_sk = cs_ship_customer_sk
               and cs_sold_date_sk = d_date_sk and d_year = 2000 and d_moy between 1 and 4))
group by cd_gender, cd_education_status order by cd_gender, cd_education_status limit 100
